/** A backup or a restore that cannot be done, for a reason that the operator can mend: the message says what and how. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}
