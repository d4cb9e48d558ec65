type Create = (path: string, body: unknown) => Promise<{ readonly id: string }>;

const ASKED = Date.UTC(2026, 10, 24, 9, 30);
const ANSWER = `The pump stops when its inlet runs dry [1]. Check these in order:

1. the valve **V-12** before the inlet,
2. the strainer, which is cleaned after 500 hours,
3. the level sensor.

| Part | Limit | Unit |
|---|--:|---|
| Inlet pressure | 0.4 | bar |
| Temperature | 85 | °C |
| Hours to service | 500 | h |

The controller logs each stop, so a query tells how often it happened:

\`\`\`sql
select date_trunc('day', stopped_at) as day, count(*)
from pump_stops
where code = 'E-4711'
group by day
order by day;
\`\`\`
`;

/** Stores a chat as the console does: a question, and an answer with thinking, a tool run, a table, code and a source. */
export async function fillChat(create: Create): Promise<Readonly<Record<string, string>>> {
  await create("/api/chats", {
    document: chatOf("Write a short offer for two pumps", "Certainly."),
  });
  const { id } = await create("/api/chats", { document: chatOf("What does E-4711 mean?", ANSWER) });
  return { chat: id };
}

function chatOf(question: string, answer: string) {
  return {
    version: 1,
    model: "sim-chat",
    system: "",
    parameters: {},
    leaf: "m2",
    messages: {
      m1: {
        parent: null,
        role: "user",
        parts: [{ type: "text", text: question }],
        at: ASKED,
        state: "done",
      },
      m2: {
        parent: "m1",
        role: "assistant",
        model: "sim-chat",
        at: ASKED + 7_000,
        state: "done",
        usage: { input_tokens: 1_204, output_tokens: 412, first_ms: 312, total_ms: 7_100 },
        request_id: "req_3v9QmTq2LxZ8cR5nYb7KdW",
        parts: [
          { type: "thinking", text: "The code is in the manual of the pump.", ms: 1_400 },
          {
            type: "tool_run",
            id: "call_1",
            name: "search_knowledge",
            status: "ok",
            duration_ms: 120,
            arguments: '{"query":"E-4711"}',
            result: "1 passage of manual.pdf",
          },
          { type: "text", text: answer },
          { type: "sources", sources: [SOURCE] },
        ],
      },
    },
  };
}

const SOURCE = {
  index: 1,
  file_id: "file_3v9QmTq2LxZ8cR5nYb7KdW",
  vector_store_id: "vs_7hB2kXw9PfM4sVt6JcN1Ra",
  filename: "manual.pdf",
  page: 12,
  text: "E-4711: the pump stops because its inlet runs dry. Check the valve V-12 and the strainer.",
  score: 0.71,
  cited: true,
};
