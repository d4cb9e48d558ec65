import iconv from "iconv-lite";
import type { EgressResponse } from "../../lib/egress/egress.ts";
import { unknownCharset } from "./answer-failures.ts";

const DECLARED = /;\s*charset\s*=\s*(?:"([^"]*)"|([^;\s]+))/i;
const UTF8 = /^utf-?8$/i;
/** Servers that declare these send the characters that Windows adds to them, as browsers read them. */
const WINDOWS_1252 = /^(?:iso-?8859-1|latin-?1|us-ascii|ascii)$/i;

/**
 * Passes on the pieces of a text in UTF-8, from the charset that the answer declares. Throws a `StepFailure` for one
 * that nobody knows.
 */
export function inUtf8(
  pieces: AsyncIterable<Uint8Array>,
  { header }: Pick<EgressResponse, "header">,
): AsyncIterable<Uint8Array> {
  const [, quoted, plain] = DECLARED.exec(header("content-type") ?? "") ?? [];
  const charset = (quoted ?? plain ?? "").trim();
  if (charset === "" || UTF8.test(charset)) return pieces;
  const encoding = WINDOWS_1252.test(charset) ? "windows-1252" : charset;
  if (!iconv.encodingExists(encoding)) throw unknownCharset(charset);
  return decoded(pieces, encoding);
}

async function* decoded(
  pieces: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<Uint8Array> {
  const decoder = iconv.getDecoder(encoding);
  for await (const piece of pieces) yield Buffer.from(decoder.write(Buffer.from(piece)));
  yield Buffer.from(decoder.end() ?? "");
}
