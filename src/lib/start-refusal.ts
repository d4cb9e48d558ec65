/** The service will not start, for a reason that the operator can mend: the message says what and how. */
export class StartRefusal extends Error {
  override readonly name: string = "StartRefusal";
}
