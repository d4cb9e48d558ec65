import { ServiceError } from "../../core/service-error.ts";
import type { License } from "../../license/license.ts";
import { type ErrorForm, errorResponse } from "../answers/error-response.ts";
import { messagesErrorForm } from "../families/messages-error-form.ts";
import { errorFormAt } from "./messages-path.ts";

/** The gateway itself: all of /v1 but health and reference, and the tool server. */
const GATEWAY_PATH = /^\/(?:v1(?:\/(?!health$|openapi\.json$|docs(?:\/|$))|$)|mcp(?:\/|$))/;
/** What is posted there starts a workflow; to look at a run is free. */
const WORKFLOW_PATH = /^\/api\/pipeline\//;
/** Client libraries of two families read it, each its own form of errors. */
const MODELS_PATH = /^\/v1\/models(?:\/|$)/;

/**
 * Refuses what a license is for once there is none in force; all else works, so that an administrator can log in and
 * upload one. Asked before anything of the request is read.
 *
 * @param path the path as it came, without the query.
 */
export function refuseUnlicensed(
  license: Pick<License, "isInvalid">,
  request: Request,
  { path, requestId }: { readonly path: string; readonly requestId: string },
): Response | undefined {
  if (!license.isInvalid() || !isGated(request.method, routedPath(path))) return undefined;
  const error = new ServiceError(
    "license_expired",
    "The license, or the evaluation without one, has expired and its grace is over. " +
      "An administrator uploads a license with POST /api/license.",
  );
  return errorResponse(error, requestId, formOf(request, path));
}

function isGated(method: string, path: string): boolean {
  return GATEWAY_PATH.test(path) || (method === "POST" && WORKFLOW_PATH.test(path));
}

/** As the router reads it: it decodes what need not have been encoded. */
function routedPath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURI(path);
  } catch {
    return path.replaceAll(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
      try {
        return decodeURI(encoded);
      } catch {
        return encoded;
      }
    });
  }
}

function formOf({ headers }: Request, path: string): ErrorForm {
  const isMessagesClient = headers.has("anthropic-version") && MODELS_PATH.test(path);
  return isMessagesClient ? messagesErrorForm : errorFormAt(path);
}
