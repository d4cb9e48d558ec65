/** A failure of a command that the operator can fix: the message gives the reason and the remedy. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
}
