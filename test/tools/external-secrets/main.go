// The Vault provider of External Secrets Operator, unchanged, as its controllers call it: a client for each
// reconcile, which is closed at its end. Reads a SecretStore, the Secrets of its namespace and the steps as
// JSON, and prints what each step saw. The API server of Kubernetes is the fake one of controller-runtime.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	es "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	"github.com/external-secrets/external-secrets/apis/externalsecrets/v1alpha1"
	_ "github.com/external-secrets/external-secrets/pkg/provider/vault"
)

const namespace = "default"

type step struct {
	// Of `data` and of `dataFrom` of an ExternalSecret.
	Get     *es.ExternalSecretDataRemoteRef
	Extract *es.ExternalSecretDataRemoteRef
	Find    *es.ExternalSecretFind
	// Of `data` of a PushSecret, and the Secret that it pushes.
	Push   *v1alpha1.PushSecretData
	Secret map[string]string
	Delete *v1alpha1.PushSecretRemoteRef
}

type input struct {
	Store   es.SecretStore
	Secrets map[string]map[string]string
	Steps   []step
}

func texts(data map[string][]byte) map[string]string {
	shown := map[string]string{}
	for key, value := range data {
		shown[key] = string(value)
	}
	return shown
}

func run(ctx context.Context, client es.SecretsClient, asked step) (any, error) {
	switch {
	case asked.Get != nil:
		value, err := client.GetSecret(ctx, *asked.Get)
		return string(value), err
	case asked.Extract != nil:
		values, err := client.GetSecretMap(ctx, *asked.Extract)
		return texts(values), err
	case asked.Find != nil:
		values, err := client.GetAllSecrets(ctx, *asked.Find)
		return texts(values), err
	case asked.Push != nil:
		secret := &corev1.Secret{Data: map[string][]byte{}}
		for key, value := range asked.Secret {
			secret.Data[key] = []byte(value)
		}
		return "pushed", client.PushSecret(ctx, secret, *asked.Push)
	default:
		return "deleted", client.DeleteSecret(ctx, *asked.Delete)
	}
}

func reconcile(ctx context.Context, asked input, one step) (seen any, err error) {
	kube := fake.NewClientBuilder()
	for name, data := range asked.Secrets {
		kube = kube.WithObjects(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Data:       bytes(data),
		})
	}
	asked.Store.Namespace = namespace
	provider, err := es.GetProvider(&asked.Store)
	if err != nil {
		return nil, err
	}
	if _, err = provider.ValidateStore(&asked.Store); err != nil {
		return nil, err
	}
	client, err := provider.NewClient(ctx, &asked.Store, kube.Build(), namespace)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close(ctx)) }()
	if _, err = client.Validate(); err != nil {
		return nil, err
	}
	return run(ctx, client, one)
}

func bytes(data map[string]string) map[string][]byte {
	all := map[string][]byte{}
	for key, value := range data {
		all[key] = []byte(value)
	}
	return all
}

func main() {
	var asked input
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	all := []any{}
	for _, one := range asked.Steps {
		seen, err := reconcile(context.Background(), asked, one)
		if errors.Is(err, es.NoSecretError{}) {
			seen = "no secret"
		} else if err != nil {
			seen = map[string]string{"error": err.Error()}
		}
		all = append(all, seen)
	}
	_ = json.NewEncoder(os.Stdout).Encode(all)
}
