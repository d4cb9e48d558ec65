import { createContext } from "react";

interface FormErrorsValue {
  /** What the server said, by the name of the field. */
  readonly errors: Readonly<Record<string, string>>;
}

/** The errors of the form around a field. */
export const FormErrors = createContext<FormErrorsValue>({ errors: {} });
