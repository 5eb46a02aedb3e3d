package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/entschema"
	"github.com/koan-go/koan/framework/catalog"
)

// configFile is what `koan init` writes.
const configFile = "koan.yaml"

// initCommand is `koan init`: what of a database, or of ent schemas, is served, as a file that can be edited.
func initCommand(out io.Writer, failure *error) *cobra.Command {
	var database, schema string
	var check, force bool
	c := &cobra.Command{
		Use:   "init --database sqlite:FILE|postgres://... | --schema DIR",
		Short: "Write the koan.yaml of a database that exists or of ent schemas: what is served, and what is not",
		Long: `Looks at a database and writes koan.yaml into the working directory: the name of each entity with its table, its
fields and relationships as comments, and what is not served, with the reason. Nothing is written into the
database. With --schema, it loads a folder of ent schemas and does the same. "koan serve" then serves it.`,
		Example: "  koan init --database sqlite:shop.db && koan serve\n  koan init --database postgres://me@localhost/shop --check\n  koan init --schema ./ent/schema && koan serve",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			survey := func(ctx context.Context) (*entities.Survey, error) { return entities.SurveyDatabase(ctx, database) }
			switch {
			case database == "" && schema == "":
				return errors.New("name a database: --database sqlite:FILE or --database postgres://USER@HOST/DATABASE; or a folder of ent schemas: --schema DIR")
			case database != "" && schema != "":
				return errors.New("name a database or a folder of ent schemas, not both: where the rows of the schemas are kept is said with database in koan.yaml")
			case schema != "":
				survey = func(ctx context.Context) (*entities.Survey, error) { return entschema.Survey(ctx, schema) }
			}
			*failure = writeSurvey(cmd.Context(), out, survey, check, force)
			return nil
		},
	}
	c.Flags().StringVar(&database, "database", "", "the database: sqlite:FILE, or postgres://USER:PASSWORD@HOST/DATABASE")
	c.Flags().StringVar(&schema, "schema", "", "a folder of ent schemas, such as ./ent/schema")
	c.Flags().BoolVar(&check, "check", false, "print the file, and write nothing")
	c.Flags().BoolVar(&force, "force", false, "replace a koan.yaml that is there")
	return c
}

func writeSurvey(ctx context.Context, out io.Writer, survey func(context.Context) (*entities.Survey, error), check, force bool) error {
	if ctx == nil { // the command was run without one
		ctx = context.Background()
	}
	s, err := survey(ctx)
	if err != nil {
		return err
	}
	if check {
		_, err := io.WriteString(out, s.Config)
		return err
	}
	if _, err := os.Stat(configFile); !force && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; see what would be written with --check, or replace it with --force", configFile)
	}
	if err := os.WriteFile(configFile, []byte(s.Config), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s has %s. Next: koan serve\n", configFile, found(s))
	return err
}

// found says how much a survey has found.
func found(s *entities.Survey) string {
	entity := "entities"
	if s.Entities == 1 {
		entity = "entity"
	}
	text := fmt.Sprintf("%d %s and %s", s.Entities, entity, catalog.Counted(s.Links, "many-to-many relationship"))
	if s.NotServed > 0 {
		text += fmt.Sprintf("; %d not served (named at its end)", s.NotServed)
	}
	return text
}
