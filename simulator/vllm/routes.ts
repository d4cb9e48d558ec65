import { type Handler, sendJson } from "../call.ts";
import { chat } from "./chat.ts";
import { embeddings } from "./embeddings.ts";
import { listModels } from "./models.ts";
import { tokenizePrompt } from "./tokenize.ts";
import { transcriptions } from "./transcriptions.ts";

const empty: Handler = ({ exchange }) => exchange.send(200, "", {});

/** The routes of vLLM's server. */
export const vllmRoutes: Readonly<Record<string, Handler>> = {
  "GET /health": empty,
  "GET /ping": empty,
  "POST /ping": empty,
  "GET /version": (call) => sendJson(call, 200, { version: "0.16.0-simulator" }),
  "GET /v1/models": listModels,
  "POST /v1/chat/completions": chat,
  "POST /v1/embeddings": embeddings,
  "POST /v1/audio/transcriptions": transcriptions,
  "POST /tokenize": tokenizePrompt,
};
