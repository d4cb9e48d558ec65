import type { DocumentPart, TextPart } from "../../core/chat/chat-request.ts";
import { ServiceError } from "../../core/service-error.ts";
import { formatPath } from "../../lib/json/value-faults.ts";
import { decodeBase64Text } from "../../lib/text/base64-text.ts";
import { invalidValue } from "./check-request.ts";
import { parseMediaUrl } from "./media-url.ts";

type Path = readonly PropertyKey[];

/** A file in a client's message. */
export interface WireDocument {
  /** An http(s) address, or a data URL. */
  readonly url: string;
  /** The path of the address in the body. */
  readonly urlPath: Path;
  readonly filename: string | null | undefined;
  /** The path of the file in the body. */
  readonly path: Path;
}

/**
 * Parses a file. A plain-text file becomes text, which every model reads. Throws a `ServiceError` that names the
 * address.
 */
export function parseFile({ url, urlPath, filename, path }: WireDocument): DocumentPart | TextPart {
  const source = parseMediaUrl(url, urlPath, "document");
  if (source.kind === "base64" && source.mediaType.startsWith("text/")) {
    const text = decodeBase64Text(source.data);
    if (text === undefined) throw invalidValue(urlPath, "text in UTF-8 as base64", url);
    return { type: "text", text: filename ? `${filename}:\n\n${text}` : text };
  }
  const title = filename ? { title: filename } : {};
  return { type: "document", source, at: formatPath(path), ...title };
}

/** Returns the error for a file that is referenced by id: the gateway stores no files. */
export function fileIdRefused(path: Path, instead: string): ServiceError {
  const param = formatPath(path);
  return new ServiceError(
    "unsupported_parameter",
    `'${param}' cannot be used: files are not stored here. Send ${instead}.`,
    { param },
  );
}
