// What programs in Go do with Vault's own client, which External Secrets Operator, Vault Secrets Operator,
// Terraform and consul-template are made of. Prints what it saw as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	vault "github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/approle"
	"github.com/hashicorp/vault/api/auth/kubernetes"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

// A workload logs in with the token of its cluster and reads one secret, until its session token is revoked.
func asWorkload(ctx context.Context, client *vault.Client) map[string]any {
	login := must(kubernetes.NewKubernetesAuth(os.Getenv("ROLE"), kubernetes.WithServiceAccountToken(os.Getenv("JWT"))))
	auth := must(client.Auth().Login(ctx, login))
	kv := client.KVv2("production")
	seen := map[string]any{"lease": auth.Auth.LeaseDuration, "read": must(kv.Get(ctx, "app/database-url")).Data}
	if err := client.Auth().Token().RevokeSelf(""); err != nil {
		seen["revoke_error"] = err.Error()
	}
	var refused *vault.ResponseError
	if _, err := kv.Get(ctx, "app/database-url"); errors.As(err, &refused) {
		seen["ended"] = refused.StatusCode
	}
	return seen
}

func main() {
	ctx := context.Background()
	client := must(vault.NewClient(vault.DefaultConfig()))
	if os.Getenv("JWT") != "" {
		_ = json.NewEncoder(os.Stdout).Encode(asWorkload(ctx, client))
		return
	}
	login := must(approle.NewAppRoleAuth(os.Getenv("ROLE_ID"), &approle.SecretID{FromEnv: "SECRET_ID"}))
	auth := must(client.Auth().Login(ctx, login))
	seen := map[string]any{"lease": auth.Auth.LeaseDuration, "renewable": auth.Auth.Renewable}

	self := must(client.Auth().Token().LookupSelf())
	seen["type"] = self.Data["type"]
	_, seen["has_expire_time"] = self.Data["expire_time"]

	kv := client.KVv2("production")
	first := must(kv.Put(ctx, "go/db", map[string]any{"user": "app", "password": "one"}, vault.WithCheckAndSet(0)))
	_, casErr := kv.Put(ctx, "go/db", map[string]any{"user": "app"}, vault.WithCheckAndSet(0))
	var refused *vault.ResponseError
	if errors.As(casErr, &refused) {
		seen["cas"] = []any{refused.StatusCode, refused.Errors[0]}
	}
	patched := must(kv.Patch(ctx, "go/db", map[string]any{"password": "two"}))
	seen["versions"] = []int{first.VersionMetadata.Version, patched.VersionMetadata.Version}
	seen["read"] = must(kv.Get(ctx, "go/db")).Data
	seen["earlier"] = must(kv.GetVersion(ctx, "go/db", 1)).Data

	if err := kv.PutMetadata(ctx, "go/db", vault.KVMetadataPutInput{CustomMetadata: map[string]any{"app.kubernetes.io/name": "web"}}); err != nil {
		seen["metadata_error"] = err.Error()
	}
	seen["metadata"] = must(kv.GetMetadata(ctx, "go/db")).CustomMetadata
	listed := must(client.Logical().List("production/metadata/go"))
	seen["keys"] = listed.Data["keys"]

	if err := kv.DeleteVersions(ctx, "go/db", []int{2}); err != nil {
		seen["delete_error"] = err.Error()
	}
	// A deleted version is 404 with its metadata, which the client keeps.
	gone := must(kv.Get(ctx, "go/db"))
	seen["deleted"] = gone.Data == nil && !gone.VersionMetadata.DeletionTime.IsZero()
	if err := kv.Undelete(ctx, "go/db", []int{2}); err != nil {
		seen["undelete_error"] = err.Error()
	}
	seen["restored"] = must(kv.Get(ctx, "go/db")).Data
	if err := kv.DeleteMetadata(ctx, "go/db"); err != nil {
		seen["destroy_error"] = err.Error()
	}
	_, absent := kv.Get(ctx, "go/db")
	seen["absent"] = errors.Is(absent, vault.ErrSecretNotFound)

	if err := client.Auth().Token().RevokeSelf(""); err != nil {
		seen["revoke_error"] = err.Error()
	}
	_, ended := client.Auth().Token().LookupSelf()
	if errors.As(ended, &refused) {
		seen["ended"] = []any{refused.StatusCode, refused.Errors[0]}
	}
	_ = json.NewEncoder(os.Stdout).Encode(seen)
}
