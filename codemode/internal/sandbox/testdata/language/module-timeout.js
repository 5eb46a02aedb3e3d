// => "in time"
import { detect } from "@codemode/servers/vision";

const late = new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 10_000));
late.catch(() => {});
const first = await Promise.race([detect({ said: "in time" }), late]);
first.said;
