// Reads generated files with the parsers of the tools that read them, and prints what they give back as a JSON object of base64 strings.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/docker/cli/pkg/kvfile"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"
	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"context"
	"strings"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "formats:", err)
		os.Exit(1)
	}
}

func dockerEnv(path string) map[string]string {
	lines, err := kvfile.Parse(path, func(string) (string, bool) { panic("a name without a value") })
	check(err)
	found := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		found[name] = value
	}
	return found
}

// composeEnv reads a file as Compose reads .env and env_file, in an environment that would show an interpolation.
func composeEnv(path string) map[string]string {
	found, err := dotenv.GetEnvFromFile(map[string]string{"X": "interpolated", "HOME": "interpolated"}, []string{path})
	check(err)
	return found
}

// composeSecrets loads a Compose file; it gives the variable of each secret.
func composeSecrets(path string) map[string]string {
	content, err := os.ReadFile(path)
	check(err)
	details := types.ConfigDetails{
		WorkingDir:  "/",
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: content}},
		Environment: types.Mapping{},
	}
	project, err := loader.LoadWithContext(context.Background(), details, func(options *loader.Options) {
		options.SetProjectName("formats", true)
	})
	check(err)
	found := map[string]string{}
	for name, secret := range project.Secrets {
		found[name] = secret.Environment
	}
	return found
}

// tfvars reads variables as Terraform does: attributes, evaluated without any variable or function.
func tfvars(path string) map[string]string {
	parser := hclparse.NewParser()
	parse := parser.ParseHCLFile
	if strings.HasSuffix(path, ".json") {
		parse = parser.ParseJSONFile
	}
	file, problems := parse(path)
	if problems.HasErrors() {
		check(problems)
	}
	attributes, problems := file.Body.JustAttributes()
	if problems.HasErrors() {
		check(problems)
	}
	found := map[string]string{}
	for name, attribute := range attributes {
		value, problems := attribute.Expr.Value(nil)
		if problems.HasErrors() {
			check(problems)
		}
		if value.Type() != cty.String {
			check(fmt.Errorf("%s is no string", name))
		}
		found[name] = value.AsString()
	}
	return found
}

// secret reads a manifest strictly into the type of the Kubernetes API, and applies the rules of its names and keys.
func secret(path string) map[string]string {
	content, err := os.ReadFile(path)
	check(err)
	var read corev1.Secret
	check(yaml.UnmarshalStrict(content, &read))
	if read.APIVersion != "v1" || read.Kind != "Secret" || read.Type != corev1.SecretTypeOpaque || len(read.StringData) > 0 {
		check(fmt.Errorf("no Secret: %s %s %s", read.APIVersion, read.Kind, read.Type))
	}
	if problems := validation.NameIsDNSSubdomain(read.Name, false); len(problems) > 0 {
		check(fmt.Errorf("name: %v", problems))
	}
	total := 0
	found := map[string]string{}
	for key, value := range read.Data {
		if problems := utilvalidation.IsConfigMapKey(key); len(problems) > 0 {
			check(fmt.Errorf("key: %v", problems))
		}
		total += len(value)
		found[key] = string(value)
	}
	if total > corev1.MaxSecretSize {
		check(fmt.Errorf("larger than a Secret may be"))
	}
	return found
}

// externalSecret checks a manifest against the CustomResourceDefinition of the External Secrets Operator, unknown fields too, as an API server
// does; it gives the key in the store of each key of the Secret.
func externalSecret(path string) map[string]string {
	content, err := os.ReadFile(os.Getenv("EXTERNAL_SECRETS_CRD"))
	check(err)
	var versioned apiextensionsv1.CustomResourceDefinition
	check(yaml.Unmarshal(content, &versioned))
	content, err = os.ReadFile(path)
	check(err)
	var read map[string]any
	check(yaml.UnmarshalStrict(content, &read))
	for _, version := range versioned.Spec.Versions {
		if versioned.Spec.Group+"/"+version.Name != read["apiVersion"] || versioned.Spec.Names.Kind != read["kind"] {
			continue
		}
		var schema apiextensions.JSONSchemaProps
		check(apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &schema, nil))
		validator, _, err := crdvalidation.NewSchemaValidator(&schema)
		check(err)
		if problems := crdvalidation.ValidateCustomResource(nil, read, validator); len(problems) > 0 {
			check(problems.ToAggregate())
		}
		structural, err := structuralschema.NewStructural(&schema)
		check(err)
		if unknown := pruning.PruneWithOptions(read, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(unknown) > 0 {
			check(fmt.Errorf("unknown fields: %v", unknown))
		}
		found := map[string]string{}
		data, _ := read["spec"].(map[string]any)["data"].([]any)
		for _, each := range data {
			one := each.(map[string]any)
			found[one["secretKey"].(string)] = one["remoteRef"].(map[string]any)["key"].(string)
		}
		return found
	}
	check(fmt.Errorf("no such kind: %v %v", read["apiVersion"], read["kind"]))
	return nil
}

// helm reads values as `helm install --values` does.
func helm(path string) map[string]string {
	values, err := chartutil.ReadValuesFile(path)
	check(err)
	secrets, err := values.Table("secrets")
	check(err)
	found := map[string]string{}
	for name, value := range secrets {
		found[name] = value.(string)
	}
	return found
}

// plainYaml reads a flat map as programs in Go do.
func plainYaml(path string) map[string]string {
	content, err := os.ReadFile(path)
	check(err)
	found := map[string]string{}
	check(yaml.UnmarshalStrict(content, &found))
	return found
}

func main() {
	readers := map[string]func(string) map[string]string{
		"docker-env": dockerEnv, "compose-env": composeEnv, "compose-secrets": composeSecrets, "tfvars": tfvars,
		"external-secret": externalSecret, "kubernetes": secret, "helm": helm, "yaml": plainYaml,
	}
	// READER FILE, as often as wanted: one line of JSON for each.
	for at := 1; at+1 < len(os.Args); at += 2 {
		encoded := map[string]string{}
		for name, value := range readers[os.Args[at]](os.Args[at+1]) {
			encoded[name] = base64.StdEncoding.EncodeToString([]byte(value))
		}
		line, err := json.Marshal(encoded)
		check(err)
		fmt.Println(string(line))
	}
}
