package io.leasehold.benchmarks.peer;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The scripts of the reference and of the hand-made lock. */
final class Scripts {

    private Scripts() {}

    static String setIfAbsent() {
        return read("set-if-absent.lua");
    }

    static String compareAndDelete() {
        return read("compare-and-delete.lua");
    }

    private static String read(String file) {
        try (InputStream in = Scripts.class.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException("resource " + file + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
