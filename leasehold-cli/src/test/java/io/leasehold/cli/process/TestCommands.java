package io.leasehold.cli.process;

import java.io.IOException;

/** Commands for tests of other packages. */
public final class TestCommands {

    private TestCommands() {}

    /** A prepared command as with or without a terminal, whatever the test process has. */
    public static GuardedCommand prepare(GuardedCommand.Settings settings, boolean atTerminal, CommandLookup lookup)
            throws IOException {
        return GuardedCommand.prepare(settings, atTerminal, lookup);
    }
}
