import { type HttpRequest, headerOf } from "./request-reader.ts";

/** The key of `Authorization: Bearer`; undefined without one. */
export function bearerOf(request: HttpRequest): string | undefined {
  return /^bearer +(\S+)$/i.exec(headerOf(request, "authorization") ?? "")?.[1];
}
