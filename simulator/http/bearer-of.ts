import { type HttpRequest, headerOf } from "./request-reader.ts";

/** Returns the key of `Authorization: Bearer`; undefined when there is none. */
export function bearerOf(request: HttpRequest): string | undefined {
  return /^bearer +(\S+)$/i.exec(headerOf(request, "authorization") ?? "")?.[1];
}
