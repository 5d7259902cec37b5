package io.leasehold.cli.process;

import java.util.ArrayList;
import java.util.List;

/**
 * Starts commands in their own session and process group through {@code setsid}, or Perl if that is missing: both replace
 * themselves by the command, which keeps the process id.
 */
final class SessionStarter {

    private static final String PERL = "use POSIX; POSIX::setsid(); exec {$ARGV[0]} @ARGV or exit 127";

    private final List<String> prefix;

    private SessionStarter(List<String> prefix) {
        this.prefix = prefix;
    }

    /** Finds an available way. */
    static SessionStarter find(CommandLookup lookup) {
        if (lookup.find("setsid") instanceof CommandLookup.Result.Found setsid) {
            return new SessionStarter(List.of(setsid.path().toString(), "--"));
        }
        if (lookup.find("perl") instanceof CommandLookup.Result.Found perl) {
            return new SessionStarter(List.of(perl.path().toString(), "-e", PERL, "--"));
        }
        return none();
    }

    /** Starts commands in the session and group of this process. */
    static SessionStarter none() {
        return new SessionStarter(List.of());
    }

    /** Whether there is a way. */
    boolean works() {
        return !prefix.isEmpty();
    }

    /** The command that starts the given one in its own session, or the given one if there is no way. */
    List<String> inOwnSession(List<String> command) {
        List<String> whole = new ArrayList<>(prefix);
        whole.addAll(command);
        return whole;
    }
}
