import { useState } from "react";
import { useLogin, useLoginMethods } from "../../api/queries/session.ts";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";

interface LoginFormProps {
  /** The name that stands there already. */
  readonly username?: string;
  /** The path to come back to from the sign-in provider. */
  readonly next: string;
  /** The provider's page opens in a tab of its own: what is typed in this one stays. */
  readonly isOverPage?: boolean;
  readonly onDone: (user: { readonly username: string; readonly mustChange: boolean }) => void;
}

/** Name and password, or the provider's page, as this gateway allows. */
export function LoginForm({ username = "", next, isOverPage, onDone }: LoginFormProps) {
  const methods = useLoginMethods();
  const login = useLogin();
  const [name, setName] = useState(username);
  const [password, setPassword] = useState("");
  const submit = async () => {
    const { user, must_change_password } = await login.mutateAsync({ username: name, password });
    onDone({ username: user.username, mustChange: must_change_password });
  };
  const hasPassword = methods.data?.password ?? true;
  return (
    <div className="grid gap-4">
      {methods.data?.oidc && (
        <a
          href={`/api/auth/oidc/login?return_to=${encodeURIComponent(next)}`}
          {...(isOverPage && { target: "_blank", rel: "noreferrer" })}
          className="control grid place-items-center font-medium hover:bg-sunken"
        >
          Sign in with {methods.data.oidc_name ?? "your organisation"}
        </a>
      )}
      {methods.data?.oidc && hasPassword && (
        <p className="text-center text-sm text-muted">or with a password</p>
      )}
      {hasPassword && (
        <Form action="Sign in" onSubmit={submit}>
          <TextField
            name="username"
            label="User name"
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            autoFocus={username === ""}
            value={name}
            onChange={setName}
          />
          <TextField
            name="password"
            label="Password"
            type="password"
            autoComplete="current-password"
            autoFocus={username !== ""}
            data-first={username !== "" || undefined}
            value={password}
            onChange={setPassword}
          />
        </Form>
      )}
    </div>
  );
}
