// The errors that calls throw: KoanError, and the classes of @codemode/errors.

/** KoanError is a fault: what went wrong, where, and what to do about it. */
export class KoanError extends Error {
  constructor(message = "", members = {}) {
    super(message);
    this.code = members.code ?? "script_error";
    this.hint = members.hint ?? "";
    this.retry = members.retry ?? ""; // "" is that of the code
    for (const name of ["path", "details", "serverId", "toolName", "exportName", "expected", "received"]) {
      if (members[name] !== undefined && members[name] !== null && members[name] !== "") this[name] = members[name];
    }
  }
}
Object.defineProperty(KoanError.prototype, "name", { value: "KoanError", writable: true, configurable: true });

function named(name, base) {
  const c = { [name]: class extends base {} }[name];
  Object.defineProperty(c.prototype, "name", { value: name, writable: true, configurable: true });
  return c;
}

export const CodemodeError = named("CodemodeError", KoanError);
export const SchemaValidationError = named("SchemaValidationError", CodemodeError);
export const ToolNotFoundError = named("ToolNotFoundError", CodemodeError);
export const ServerNotFoundError = named("ServerNotFoundError", CodemodeError);
export const ToolCallError = named("ToolCallError", CodemodeError);
export const AuthenticationError = named("AuthenticationError", CodemodeError);
export const SandboxLimitError = named("SandboxLimitError", CodemodeError);

export const classes = {
  CodemodeError, SchemaValidationError, ToolNotFoundError, ServerNotFoundError, ToolCallError, AuthenticationError, SandboxLimitError, KoanError,
};
