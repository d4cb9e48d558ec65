import type { QueryClient, QueryKey } from "@tanstack/react-query";

/** Takes an answer as what a query has now. A call of it that is under way began before, and would bring the old one back. */
export async function putAnswer(client: QueryClient, queryKey: QueryKey, answer: unknown) {
  await client.cancelQueries({ queryKey, exact: true });
  client.setQueryData(queryKey, answer);
}
