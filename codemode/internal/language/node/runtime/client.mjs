// What the modules in the workspace call. It is set once for the script of this process.

let servers;

export function use(of) {
  servers = of;
}

export const member = (of, name) => servers.member(of, name);
export const callTool = (call) => servers.callTool(call);
