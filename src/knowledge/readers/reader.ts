/** Where a block is in its document. */
interface Place {
  /** From 1; slides are pages. */
  readonly page?: number;
  /** The name of a spreadsheet's sheet. */
  readonly sheet?: string;
}

/** The name of a column, empty when the table names none, and the text of a cell. Empty cells are left out. */
export type Cell = readonly [name: string, value: string];

/** A piece of a document. Its text is not empty and has no `\r`. */
export type Block = Place &
  (
    | {
        readonly kind: "heading";
        /** 1 is the outermost. */
        readonly level: number;
        readonly text: string;
      }
    | {
        readonly kind: "paragraph";
        readonly text: string;
        /** The next paragraph continues this one, without a gap: a long one comes in several blocks. */
        readonly isCut?: true;
      }
    | { readonly kind: "row"; readonly cells: readonly Cell[] }
  );

/** An archive. All bytes that are unpacked from it count against one limit. */
export interface ZipFile {
  readonly names: readonly string[];
  readonly has: (name: string) => boolean;
  /** Unpacks a file in small pieces. Throws `UnreadableFile` when it is missing, damaged, encrypted or beyond the limit. */
  readonly read: (name: string) => AsyncGenerator<Uint8Array, void>;
  /** Unpacks every file and keeps nothing: a library that has no limit may unpack the archive afterwards. */
  readonly measure: () => Promise<void>;
}

/** A file to read, and what readers choose by. */
export interface SourceFile {
  readonly path: string;
  /** In lower case, without the dot. */
  readonly extension: string;
  readonly size: number;
  /** The first 64 KiB. */
  readonly head: Buffer;
  /** Undefined when the file is no archive. */
  readonly zip: ZipFile | undefined;
  /** The name of the encoding; null when the content is no text. Reads the file on the first call. */
  readonly encoding: () => Promise<string | null>;
  readonly limits: ReadLimits;
}

/** One format of documents. The registry knows all of them; they do not know each other. */
export interface Reader {
  /** What people call the format: `PDF`. */
  readonly format: string;
  /** Decides by the content, where it can, and otherwise by the extension. */
  readonly matches: (file: SourceFile) => boolean | Promise<boolean>;
  /** Yields the blocks in reading order. Throws `UnreadableFile`; any other error means that the file is damaged. */
  readonly read: (file: SourceFile) => AsyncIterable<Block>;
  /** The sentence for a file of this format without any text. */
  readonly noText?: string;
}

export type UnreadableCode = "unsupported_file" | "invalid_file" | "server_error";

/**
 * A file cannot be read: `unsupported_file` has no text that we can extract, `invalid_file` is damaged, encrypted or
 * beyond a limit, `server_error` may succeed when it is repeated. The message is for people and has no path.
 */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
  readonly code: UnreadableCode;

  constructor(code: UnreadableCode, message: string) {
    super(message);
    this.code = code;
  }
}

export const DAMAGED = "The file is damaged or incomplete.";
export const PROTECTED = "The file is protected with a password. Upload it without one.";

export interface ReadLimits {
  /** Time for one file. */
  readonly timeMs: number;
  /** Resident memory of the process that reads it. */
  readonly memoryBytes: number;
  /** All files of an archive, unpacked. */
  readonly unpackedBytes: number;
  /** Files in an archive. */
  readonly zipEntries: number;
  /** UTF-16 units of a document's text. */
  readonly characters: number;
}

export const READ_LIMITS: ReadLimits = {
  timeMs: 60_000,
  memoryBytes: 512 * 1024 * 1024,
  unpackedBytes: 200 * 1024 * 1024,
  zipEntries: 10_000,
  characters: 20_000_000,
};

export function tooManyCharacters({ characters }: ReadLimits): UnreadableFile {
  const limit = characters.toLocaleString("en-US");
  return new UnreadableFile("invalid_file", `The document has more than ${limit} characters.`);
}
