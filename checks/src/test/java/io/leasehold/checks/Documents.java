package io.leasehold.checks;

import java.nio.file.Path;

/** Where the documents are. */
public final class Documents {

    private Documents() {}

    /** The folder that holds the README. */
    public static Path root() {
        return Module.root();
    }
}
