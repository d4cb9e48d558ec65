/** The service cannot start, for a reason that the operator can fix. The message says what and how. */
export class StartRefusal extends Error {
  override readonly name: string = "StartRefusal";
}
