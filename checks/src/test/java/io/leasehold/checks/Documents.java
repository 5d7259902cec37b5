package io.leasehold.checks;

import java.nio.file.Path;

/** Finds the documents. */
public final class Documents {

    private Documents() {}

    /** The folder with the README. */
    public static Path root() {
        return Module.root();
    }
}
