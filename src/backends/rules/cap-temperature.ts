import type { ChatRequest } from "../../core/chat-request.ts";

/** The request with a temperature on a vendor's own scale, which may end before those of the clients' formats. */
export function capTemperature(request: ChatRequest, hottest: number): ChatRequest {
  const { temperature = 0 } = request.parameters;
  if (temperature <= hottest) return request;
  return { ...request, parameters: { ...request.parameters, temperature: hottest } };
}
