import iconv from "iconv-lite";
import { type SaxesAttributePlain, SaxesParser, type SaxesTagPlain } from "saxes";
import { type Block, DAMAGED, UnreadableFile } from "../reader.ts";

/** Deeper documents are made to exhaust their readers. */
const DEPTH_MAX = 1_000;

export interface XmlElement {
  /** Without its prefix. */
  readonly name: string;
  /** By name without prefix, but for those that would have the name of another one. Declarations of prefixes are left out. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** What a format does with the parts of a document, in their order. */
export interface XmlHandler {
  readonly open: (element: XmlElement) => void;
  readonly close: (name: string) => void;
  readonly text: (text: string) => void;
  /** Returns the blocks that are complete, and forgets them. */
  readonly take: () => readonly Block[];
}

/**
 * Reads a document in pieces and yields the blocks that its handler completes. Entities that the document defines are
 * not expanded. Throws `UnreadableFile` when it is not well-formed.
 */
export async function* parseXml(
  pieces: AsyncIterable<string>,
  handler: XmlHandler,
): AsyncGenerator<Block, void> {
  const parser = new SaxesParser();
  let depth = 0;
  parser.on("error", () => {
    throw new UnreadableFile(
      "invalid_file",
      `${DAMAGED} Its XML is invalid in line ${parser.line}.`,
    );
  });
  parser.on("opentag", ({ name, attributes }: SaxesTagPlain) => {
    depth += 1;
    if (depth > DEPTH_MAX)
      throw new UnreadableFile("invalid_file", "The XML is nested too deeply.");
    handler.open({ name: local(name), attributes: attributesOf(name, attributes) });
  });
  parser.on("closetag", ({ name }: SaxesTagPlain) => {
    depth -= 1;
    handler.close(local(name));
  });
  parser.on("text", handler.text);
  parser.on("cdata", handler.text);
  for await (const piece of pieces) {
    parser.write(piece);
    yield* handler.take();
  }
  parser.close();
  yield* handler.take();
}

/** Decodes XML inside an archive, which is UTF-8 unless a mark says UTF-16. */
export async function* decodeXml(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let decoder: ReturnType<typeof iconv.getDecoder> | undefined;
  for await (const bytes of pieces) {
    const isWide =
      (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    decoder ??= iconv.getDecoder(isWide ? "utf-16" : "utf-8");
    yield decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
  yield decoder?.end() ?? "";
}

/**
 * Of several attributes with one local name, the one without prefix has it, else the one with the prefix of the element,
 * else the first; the others keep their prefixes. The order of attributes has no meaning, and writers differ in it.
 */
function attributesOf(
  element: string,
  attributes: Readonly<Record<string, SaxesAttributePlain | string>>,
): Readonly<Record<string, string>> {
  const prefix = element.slice(0, element.indexOf(":") + 1);
  const rankOf = (name: string) => {
    if (!name.includes(":")) return 0;
    return prefix !== "" && name.startsWith(prefix) ? 1 : 2;
  };
  const given = Object.entries(attributes).filter(([name]) => !/^xmlns(:|$)/.test(name));
  const owners = new Map<string, string>();
  for (const [name] of given) {
    const owner = owners.get(local(name));
    if (owner === undefined || rankOf(name) < rankOf(owner)) owners.set(local(name), name);
  }
  return Object.fromEntries(
    given.map(([name, value]) => [
      owners.get(local(name)) === name ? local(name) : name,
      String(value),
    ]),
  );
}

function local(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
