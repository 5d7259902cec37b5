package io.leasehold.cli;

import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** A question about the verb or the option that was probably meant by one that does not exist. */
final class VerbSuggestion {

    /** The names that other programs have for the verbs of Leasehold. */
    private static final Map<String, String> OTHER_NAMES = Map.of(
            "list", "ls",
            "locks", "ls",
            "ps", "ls",
            "status", "show",
            "holder", "who",
            "top", "watch",
            "unlock", "release",
            "lock", "run",
            "exec", "run",
            "check", "doctor");

    private VerbSuggestion() {}

    /** The end of the message: a question, or nothing. */
    static String after(ParameterException problem) {
        if (!(problem instanceof UnmatchedArgumentException unmatched)
                || unmatched.getUnmatched().isEmpty()) {
            return "";
        }
        CommandLine line = unmatched.getCommandLine();
        String first = unmatched.getUnmatched().get(0);
        if (first.startsWith("-")) {
            String option = OptionSuggestion.of(first, line.getCommandSpec());
            return option == null ? "" : question(option);
        }
        String known = line.getParent() == null ? OTHER_NAMES.get(first) : null;
        List<String> near = known != null ? List.of(known) : unmatched.getSuggestions();
        for (String one : near) {
            CommandLine verb = line.getSubcommands().get(one);
            boolean shown =
                    verb == null || !verb.getCommandSpec().usageMessage().hidden();
            if (shown) {
                return question(one);
            }
        }
        return "";
    }

    private static String question(String word) {
        return "; did you mean " + word + "?";
    }
}
