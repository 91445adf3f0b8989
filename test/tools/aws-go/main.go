// What programs in Go do with AWS's SDK, unchanged. Prints what it saw as JSON.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"
)

func code(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	return ""
}

func must[T any](answer T, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	ctx := context.Background()
	client := secretsmanager.NewFromConfig(must(config.LoadDefaultConfig(ctx)))
	id := aws.String("go/db")
	seen := map[string]any{}
	must(client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: id}))
	_, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: id})
	seen["empty"] = code(err)
	put := must(client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: id, SecretBinary: []byte{0, 255}}))
	seen["stages"] = put.VersionStages
	read := must(client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: id}))
	seen["binary"] = hex.EncodeToString(read.SecretBinary)
	list := must(client.ListSecrets(ctx, &secretsmanager.ListSecretsInput{}))
	seen["names"] = *list.SecretList[0].Name
	must(client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: id, ForceDeleteWithoutRecovery: aws.Bool(true)}))
	_, err = client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: id})
	seen["absent"] = code(err)
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		panic(err)
	}
}
