import { z } from "@hono/zod-openapi";
import { describeSettings } from "../../config/describe-settings.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const setting = z
  .object({
    name: z.string(),
    text: z.string().openapi({ description: "What it is for." }),
    secret: z.boolean().openapi({ description: "Its value is never shown." }),
    set: z.boolean().openapi({ description: "It has a value, given or by default." }),
    default: z.boolean().openapi({ description: "It has the value of a server without it." }),
    value: z
      .union([z.string(), z.number(), z.boolean(), z.array(z.string())])
      .nullable()
      .openapi({
        description:
          "Addresses are without user, password and query. Null for a secret, and where there is none.",
      }),
  })
  .openapi("Setting", {
    example: {
      name: "PORT",
      text: "Port to listen on; 0 selects a free port.",
      secret: false,
      set: true,
      default: true,
      value: 8_080,
    },
  });
const settingList = z
  .object({ object: z.literal("list"), data: z.array(setting) })
  .openapi("SettingList");

const LIST = resourceRoute({
  path: "/api/admin/settings",
  method: "get",
  access: "administrator",
  tokens: "closed",
  tag: "System",
  operationId: "listSettings",
  summary: "List the settings of this server",
  description:
    "They are given by environment variables of these names, and changed with a restart.",
  answer: { description: "All settings, in the order of .env.example.", schema: settingList },
});

/** `GET /api/admin/settings`. */
export function settingsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(LIST, () => {
    const data = describeSettings(deps.settings).map(
      ({ name, text, isSecret, isSet, ...rest }) => ({
        ...{ name, text, secret: isSecret, set: isSet, default: rest.isDefault },
        value: Array.isArray(rest.value) ? [...rest.value] : (rest.value as string | number | null),
      }),
    );
    return jsonResponse({ object: "list", data });
  });
  return router;
}
