import type { DocumentPart, TextPart } from "../../core/chat-request.ts";
import { ServiceError } from "../../core/service-error.ts";
import { decodeBase64Text } from "../../lib/base64-text.ts";
import { formatPath, invalidValue } from "./check-request.ts";
import { parseMediaUrl } from "./media-url.ts";

type Path = readonly PropertyKey[];

/** A file in a client's message. */
export interface WireDocument {
  /** An http(s) address, or a data URL. */
  readonly url: string;
  /** Where the address stands in the body. */
  readonly urlPath: Path;
  readonly filename: string | null | undefined;
  /** Where the file stands in the body. */
  readonly path: Path;
}

/** A file of plain text is text: every model reads it. Throws a `ServiceError` that names the address. */
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

/** The refusal of a file named by an id: none is stored here. */
export function fileIdRefused(path: Path, instead: string): ServiceError {
  const param = formatPath(path);
  return new ServiceError(
    "unsupported_parameter",
    `'${param}' cannot be used: files are not stored here. Send ${instead}.`,
    { param },
  );
}
