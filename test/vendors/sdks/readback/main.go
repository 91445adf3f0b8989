// What a vendor's own Go client reads at an address, as JSON: `readback hcp-terraform URL TOKEN WORKSPACE VARSET`, `readback buildkite URL TOKEN ORG CLUSTER`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/buildkite/go-buildkite/v4"
	"github.com/hashicorp/go-tfe"
)

type row struct {
	Key       string `json:"key"`
	Value     string `json:"value,omitempty"`
	Category  string `json:"category,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
	HCL       bool   `json:"hcl,omitempty"`
}

func terraform(url, token, workspace, varset string) (rows []row, err error) {
	client, err := tfe.NewClient(&tfe.Config{Address: url, Token: token})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	options := tfe.ListOptions{PageSize: 100}
	for {
		page, err := client.Variables.List(ctx, workspace, &tfe.VariableListOptions{ListOptions: options})
		if err != nil {
			return nil, err
		}
		for _, v := range page.Items {
			rows = append(rows, row{v.Key, v.Value, string(v.Category), v.Sensitive, v.HCL})
		}
		if page.Pagination == nil || page.NextPage == 0 {
			break
		}
		options.PageNumber = page.NextPage
	}
	page, err := client.VariableSetVariables.List(ctx, varset, &tfe.VariableSetVariableListOptions{})
	if err != nil {
		return nil, err
	}
	for _, v := range page.Items {
		rows = append(rows, row{v.Key, v.Value, string(v.Category), v.Sensitive, v.HCL})
	}
	key, value, category := "THEIRS", "theirs", tfe.CategoryEnv
	_, err = client.Variables.Create(ctx, workspace, tfe.VariableCreateOptions{Key: &key, Value: &value, Category: &category})
	return rows, err
}

func cluster(url, token, org, id string) (rows []row, err error) {
	client, err := buildkite.NewOpts(buildkite.WithTokenAuth(token), buildkite.WithBaseURL(url))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	for page := 1; page != 0; {
		secrets, response, err := client.ClusterSecrets.List(ctx, org, id, &buildkite.ClusterSecretsListOptions{ListOptions: buildkite.ListOptions{Page: page, PerPage: 100}})
		if err != nil {
			return nil, err
		}
		for _, secret := range secrets {
			rows = append(rows, row{Key: secret.Key})
		}
		page = response.NextPage
	}
	_, _, err = client.ClusterSecrets.Create(ctx, org, id, buildkite.ClusterSecretCreate{Key: "THEIRS", Value: "theirs"})
	return rows, err
}

func main() {
	read := map[string]func(string, string, string, string) ([]row, error){"hcp-terraform": terraform, "buildkite": cluster}[os.Args[1]]
	rows, err := read(os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(rows)
}
