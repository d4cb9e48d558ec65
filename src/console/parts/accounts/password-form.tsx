import { useState } from "react";
import { ApiError } from "../../api/errors.ts";
import { useChangePassword, useSession } from "../../api/queries/session.ts";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";

const MIN_LENGTH = 8;

/** Changes one's own password; every other session of the user ends. */
export function PasswordForm({ onDone }: { readonly onDone: () => void }) {
  const change = useChangePassword();
  const { data: session } = useSession();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const submit = async () => {
    if (next !== again) throw wrong("again", "The two new passwords differ.");
    const body = { current_password: current, new_password: next };
    await change.mutateAsync(body).catch((thrown: unknown) => {
      const isWrong = thrown instanceof ApiError && thrown.code === "invalid_credentials";
      throw isWrong ? wrong("current_password", thrown.message) : thrown;
    });
    setCurrent("");
    setNext("");
    setAgain("");
    onDone();
  };
  return (
    <Form action="Change password" onSubmit={submit}>
      {/* Password managers keep a password under a name. */}
      <input hidden readOnly autoComplete="username" value={session?.username ?? ""} />
      <TextField
        name="current_password"
        label="Current password"
        type="password"
        autoComplete="current-password"
        value={current}
        onChange={setCurrent}
      />
      <TextField
        name="new_password"
        label="New password"
        hint={`At least ${MIN_LENGTH} characters. Your other sessions end.`}
        type="password"
        autoComplete="new-password"
        value={next}
        onChange={setNext}
      />
      <TextField
        name="again"
        label="New password again"
        type="password"
        autoComplete="new-password"
        value={again}
        onChange={setAgain}
      />
    </Form>
  );
}

/** An error at a field that the server does not name. */
function wrong(param: string, message: string): ApiError {
  const nothing = { requestId: null, retryAfterSeconds: null };
  return new ApiError(message, { status: 400, code: "invalid_value", param, ...nothing });
}
