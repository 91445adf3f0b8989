package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"example.com/report/vault"
)

func main() {
	bearer := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("VAULT_TOKEN"))
		return nil
	}
	client, err := vault.NewClientWithResponses(os.Getenv("VAULT_URL")+"/api/v1", vault.WithRequestEditorFn(bearer))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := client.SecretReadByNameWithResponse(context.Background(), os.Getenv("VAULT_ORG"), "REPORT_TOKEN", nil)
	if err != nil {
		log.Fatal(err)
	}
	if answer.JSON200 == nil {
		log.Fatalf("the vault answered %s", answer.Status())
	}
	secret := answer.JSON200
	fmt.Printf("%s, version %d, has %d characters\n", secret.Name, secret.Version, len(secret.Value))
}
