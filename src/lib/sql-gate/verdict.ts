/** Why a statement may not run, in words for whoever wrote it. */
export interface Refusal {
  /** What is refused. */
  readonly message: string;
  /** What to write instead. */
  readonly hint: string;
}

/** What a statement does, as far as the caller of a gate must know. */
export type StatementKind = "select" | "explain" | "show";

/** The decision of a gate about one text. */
export type Verdict =
  | { readonly statement: StatementKind; readonly refusal?: undefined }
  | { readonly statement?: undefined; readonly refusal: Refusal };

/** Ends the check of a statement. The gates throw it inside and return its refusal. */
export class Refused extends Error {
  readonly refusal: Refusal;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "Refused";
    this.refusal = { message, hint };
  }
}

/** Returns the verdict of a check that throws `Refused`. */
export function toVerdict(check: () => StatementKind): Verdict {
  try {
    return { statement: check() };
  } catch (thrown) {
    if (thrown instanceof Refused) return { refusal: thrown.refusal };
    throw thrown;
  }
}

/**
 * Throws for a text that no gate reads: an empty one, one over `maxBytes` of UTF-8, or one with NUL or half a surrogate
 * pair, which the gate and the server could read as different texts.
 */
export function refuseUnreadableText(sql: string, maxBytes: number): void {
  if (sql.trim() === "") throw new Refused("The statement is empty.", "Write one SELECT.");
  const bytes = Buffer.byteLength(sql);
  if (bytes > maxBytes) {
    throw new Refused(
      `The statement has ${bytes} bytes, more than the ${maxBytes} allowed.`,
      "Shorten it, for example by a join instead of a long list of values.",
    );
  }
  if (/\0|\p{Surrogate}/u.test(sql)) {
    throw new Refused(
      "The statement has a character that no text may have (NUL or half a surrogate pair).",
      "Remove it.",
    );
  }
}

/** The refusal of a text with more than one statement. */
export function refuseSeveral(count: number): never {
  throw new Refused(`The text has ${count} statements.`, "Send one statement at a time.");
}
