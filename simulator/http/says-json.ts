import { type HttpRequest, headerOf } from "./request-reader.ts";

/** Reports whether the request declares its body as JSON; a request without a body need not. */
export function saysJson(request: HttpRequest): boolean {
  if (request.method === "GET" || request.body.length === 0) return true;
  const type = headerOf(request, "content-type") ?? "";
  return /^application\/json\s*(;|$)/i.test(type.trim());
}
