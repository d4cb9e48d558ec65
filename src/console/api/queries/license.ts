import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";

const KEY = ["license"] as const;

/** The license's state, which everybody may know. */
export function useLicense() {
  return useQuery({
    queryKey: [...KEY, "state"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/license", { signal })),
  });
}

/** Whose it is and what it allows, for administrators. */
export function useLicenseDetails() {
  return useQuery({
    queryKey: [...KEY, "details"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/license/details", { signal })),
  });
}

/** The device that a license can be bound to. */
export function useLicenseDevice() {
  return useQuery({
    queryKey: [...KEY, "device"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/license/device", { signal })),
  });
}

/** Puts a `.lic` file in the place of the license before it. */
export function useUploadLicense() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (file: File) =>
      unwrap(
        api.POST("/api/license", {
          body: { file: "" },
          bodySerializer: () => {
            const form = new FormData();
            form.set("file", file);
            return form;
          },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}
