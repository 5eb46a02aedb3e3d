import { hello } from "greeting";
export const greet = (name) => hello(name).toUpperCase();
