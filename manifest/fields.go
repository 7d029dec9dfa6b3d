package manifest

import "strings"

// excluded are accepted and no part of the identity: cosmetic, for an editor, or
// of the network, which is the grant's (§5.3) and never the environment's.
var excluded = map[string]bool{
	"$schema": true, "name": true, "customizations": true,
	"forwardPorts": true, "appPort": true, "portsAttributes": true, "otherPortsAttributes": true,
	"settings": true, "extensions": true, "devPort": true, // what customizations were before
}

const (
	runsCommands  = "it executes commands, and an environment runs nothing (§14)"
	startsCommand = "make it a unit of its own, or build it into the image"
	buildsImage   = "it executes commands when the image is built, and an environment runs nothing (§14)"
	buildFirst    = `build and push the image first, and name it by digest: "image": "NAME@sha256:…"`
	widens        = "it widens the sandbox (§14)"
	grantsSay     = "ask for what the unit needs in its grants"
	composes      = "it declares more than one environment"
	isTheGrants   = "the unit and its grants say that, and it changes what runs or where"
)

// refused are known and refused, each with the reason and what to do.
var refused = map[string]fault{
	"build":             {buildsImage, buildFirst},
	"dockerFile":        {buildsImage, buildFirst},
	"context":           {buildsImage, buildFirst},
	"dockerComposeFile": {composes, "name the one image that the unit runs in"},
	"service":           {composes, "name the one image that the unit runs in"},
	"runServices":       {composes, "name the one image that the unit runs in"},

	"initializeCommand":    {"it executes commands on the host itself, and an environment runs nothing (§14)", "remove it; run it yourself if you trust it"},
	"onCreateCommand":      {runsCommands, startsCommand},
	"updateContentCommand": {runsCommands, startsCommand},
	"postCreateCommand":    {runsCommands, startsCommand},
	"postStartCommand":     {runsCommands, startsCommand},
	"postAttachCommand":    {runsCommands, startsCommand},
	"waitFor":              {"it speaks of lifecycle commands, and there are none", "remove it"},

	"runArgs":     {widens + ": its flags reach the container engine unseen", grantsSay},
	"privileged":  {widens, grantsSay},
	"capAdd":      {widens, grantsSay},
	"securityOpt": {widens, grantsSay},

	"remoteEnv":           {"it sets variables that the environment's address would not cover", "move them to containerEnv"},
	"containerUser":       {"it is a second word on who the unit runs as", "name the user in remoteUser"},
	"init":                {"it changes what the first process is", "remove it; a unit's leftovers are always collected"},
	"workspaceMount":      {isTheGrants, "move it to mounts, or grant the path to the unit"},
	"workspaceFolder":     {isTheGrants, "remove it"},
	"overrideCommand":     {"it changes what runs, and the unit's entrypoint says that", "remove it"},
	"updateRemoteUserUID": {"it rewrites the image's user by who is at the host", "remove it"},
	"userEnvProbe":        {"it takes variables from a shell that it starts", "write them into containerEnv"},
	"shutdownAction":      {"it says when to stop, and the unit's budgets do", "remove it"},
	"hostRequirements":    {"it asks for resources, and the grants do", "set budgets and device classes in the unit's grants"},
	"secrets":             {"it asks for secrets, and a manifest is public", "hand them to the run"},

	"overrideFeatureInstallOrder": {"it changes what installing features comes to, and the address would not cover that", "install them into an image in that order, and name it by digest"},
}

// accepted are the five that make up the identity.
var accepted = []string{"image", "features", "containerEnv", "mounts", "remoteUser"}

// unknown is the answer to any other name: dropping it in silence could mint a
// false identity.
func unknown(name string) fault {
	for _, known := range knownNames() {
		if strings.EqualFold(strings.TrimSpace(name), known) {
			return fault{"the name is unknown, and unknown names are refused (§14)", "is " + known + " meant? names are matched exactly"}
		}
	}
	if strings.HasSuffix(name, "Command") {
		return fault{"the name is unknown, and by its name " + runsCommands, startsCommand}
	}
	return fault{"the name is unknown, and unknown names are refused (§14)", "remove it, or correct its spelling"}
}

func knownNames() []string {
	names := append([]string{}, accepted...)
	for name := range excluded {
		names = append(names, name)
	}
	for name := range refused {
		names = append(names, name)
	}
	return names
}
