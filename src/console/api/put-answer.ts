import type { QueryClient, QueryKey } from "@tanstack/react-query";

/** Stores an answer as a query's data, and cancels the query's call in progress: it would return older data. */
export async function putAnswer(client: QueryClient, queryKey: QueryKey, answer: unknown) {
  await client.cancelQueries({ queryKey, exact: true });
  client.setQueryData(queryKey, answer);
}
