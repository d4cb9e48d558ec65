import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";

const PAGE = 100;

/** The keys that are bound to an assistant, of those that one may see. */
export function useBoundKeys(assistantId: string) {
  return useQuery({
    queryKey: ["api-keys", "bound", assistantId],
    queryFn: ({ signal }) => {
      const query = { assistant_id: assistantId, limit: PAGE };
      return unwrap(api.GET("/api/v1/api-keys", { params: { query }, signal }));
    },
  });
}
