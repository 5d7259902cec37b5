package io.leasehold.jdbc.dialect;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** The statements that create the tables, shipped as a file that an administrator can run unchanged. */
public final class SchemaFile {

    static final String H2 = "h2.sql";

    private SchemaFile() {}

    /**
     * The file for this dialect, as text. H2 uses the file of PostgreSQL, changed so that names that differ in case are
     * two locks even in a database with IGNORECASE=TRUE.
     */
    public static String text(String file) {
        return file.equals(H2)
                ? read("postgresql.sql")
                        .replace("PostgreSQL 12 and newer", "H2 2.x")
                        .replaceAll("VARCHAR(?=.* PRIMARY KEY)", "VARCHAR_CASESENSITIVE")
                : read(file);
    }

    private static String read(String file) {
        try (InputStream in = SchemaFile.class.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException("file " + file + " is missing from the artefact leasehold-jdbc");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("file " + file + " cannot be read", e);
        }
    }

    static List<String> statements(String file) {
        String code = text(file).lines().filter(line -> !line.startsWith("--")).collect(Collectors.joining("\n"));
        return Arrays.stream(code.split(";")).map(String::strip).toList();
    }
}
