package io.leasehold.demo.actor;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** A Lua script in the resources of the class that sends it. */
public final class ScriptFile {

    private ScriptFile() {}

    /** Reads its text. */
    public static String read(Class<?> beside, String name) {
        try (InputStream file = beside.getResourceAsStream(name)) {
            if (file == null) {
                throw new IllegalStateException(name + " is missing next to " + beside.getName());
            }
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
