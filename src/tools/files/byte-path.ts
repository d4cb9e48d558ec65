import { FileFault } from "./file-job.ts";

/**
 * A path as the file system has it, which need not be UTF-8: each character stands for one byte. Relative ones have no
 * slash at either end.
 */
export type BytePath = string;

/** What could break a line, hide or reorder text, and the mark of an escape. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\\ufffd]/u;
/** An escape, or a backslash that begins none. */
const ESCAPE = /(\\\\|\\x[0-9a-fA-F]{2}|\\)/;
const MAX_BYTES = 4_096;

/** Returns the bytes, as the functions of the file system take them. */
export function bytesOf(path: BytePath): Buffer {
  return Buffer.from(path, "latin1");
}

/** Returns the path of a text. */
export function bytePath(text: string): BytePath {
  return Buffer.from(text).toString("latin1");
}

/** Returns the text of a path, for patterns; bytes that are not UTF-8 become U+FFFD. */
export function textOf(path: BytePath): string {
  return bytesOf(path).toString();
}

/**
 * Returns a path as it is shown: on one line, with `\xNN` for each byte of a control character, of an invisible one, or
 * of what is not UTF-8, and `\\` for a backslash. `readPath` reads it back.
 */
export function shownPath(path: BytePath): string {
  const text = textOf(path);
  if (!UNSAFE.test(text)) return text;
  let shown = "";
  for (let at = 0; at < path.length; ) {
    const size = characterBytes(path.charCodeAt(at));
    const bytes = path.slice(at, at + size);
    const character = textOf(bytes);
    const isWhole = [...character].length === 1 && bytePath(character) === bytes;
    if (character === "\\") shown += "\\\\";
    else if (isWhole && !UNSAFE.test(character)) shown += character;
    else {
      shown += escaped(path.charCodeAt(at));
      at += 1;
      continue;
    }
    at += size;
  }
  return shown;
}

function characterBytes(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}

function escaped(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, "0")}`;
}

/**
 * Reads a path that a model has written, relative to a connection and with the escapes of `shownPath`; empty for the
 * folder of the connection. Throws a `FileFault`.
 */
export function readPath(text: string): BytePath {
  if (text.startsWith("/")) {
    throw new FileFault("A path is relative to its connection and begins without a slash.");
  }
  const path = text
    .split(ESCAPE)
    .map((piece, index) => (index % 2 === 0 ? bytePath(piece) : unescaped(piece)))
    .join("");
  const levels = path.split("/").filter((level) => level !== "" && level !== ".");
  if (levels.includes("..")) {
    throw new FileFault("A path has no '..': it never leaves the folder of its connection.");
  }
  if (path.includes("\0")) throw new FileFault("A path has no NUL character.");
  if (path.length > MAX_BYTES) throw new FileFault(`A path has at most ${MAX_BYTES} bytes.`);
  return levels.join("/");
}

function unescaped(written: string): BytePath {
  if (written === "\\\\") return "\\";
  if (written !== "\\") return String.fromCharCode(Number.parseInt(written.slice(2), 16));
  throw new FileFault(
    "Levels of a path are separated by '/'. A backslash begins an escape: '\\\\' or '\\x0a'.",
  );
}
