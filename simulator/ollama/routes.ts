import { type Handler, sendJson } from "../call.ts";
import { chat } from "./chat.ts";
import { embedTexts } from "./embed.ts";
import { listRunning, listTags, showModel } from "./show-models.ts";

const hello: Handler = ({ exchange }) =>
  exchange.send(200, "Ollama is running", { "content-type": "text/plain; charset=utf-8" });
const version: Handler = (call) => sendJson(call, 200, { version: "0.17.0-simulator" });

/** The routes of Ollama's server. */
export const ollamaRoutes: Readonly<Record<string, Handler>> = {
  "GET /": hello,
  "HEAD /": hello,
  "GET /api/version": version,
  "HEAD /api/version": version,
  "GET /api/tags": listTags,
  "HEAD /api/tags": listTags,
  "GET /api/ps": listRunning,
  "POST /api/show": showModel,
  "POST /api/chat": chat,
  "POST /api/embed": embedTexts,
};
