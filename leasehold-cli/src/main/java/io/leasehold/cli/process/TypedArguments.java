package io.leasehold.cli.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The arguments and the environment of this process as the kernel keeps them, independent of the JVM's decoding. */
public final class TypedArguments {

    private static final Path ARGUMENTS = Path.of("/proc/self/cmdline");
    private static final Path ENVIRONMENT = Path.of("/proc/self/environ");

    private TypedArguments() {}

    /** The original words of these arguments of {@code main}; the arguments themselves in UTF-8 if there is no {@code /proc}. */
    public static TypedWords of(List<String> arguments) {
        try {
            TypedWords all = TypedWords.ofZeroTerminated(Files.readAllBytes(ARGUMENTS));
            if (all.size() >= arguments.size()) {
                TypedWords last = all.from(all.size() - arguments.size());
                if (last.mayBe(arguments)) {
                    return last;
                }
            }
        } catch (IOException notLinux) {
            // On other systems (macOS, BSD) a JVM encodes in UTF-8.
        }
        return TypedWords.ofTexts(arguments);
    }

    /** The environment with values decoded as UTF-8; invalid bytes become U+FFFD. */
    public static Map<String, String> environment(Map<String, String> asTheJvmReadIt) {
        Map<String, String> exact = new HashMap<>(asTheJvmReadIt);
        try {
            for (String entry :
                    TypedWords.ofZeroTerminated(Files.readAllBytes(ENVIRONMENT)).texts()) {
                int equals = entry.indexOf('=');
                if (equals > 0) {
                    exact.computeIfPresent(
                            entry.substring(0, equals),
                            (name, value) -> isAscii(value) ? value : entry.substring(equals + 1));
                }
            }
        } catch (IOException notLinux) {
            // Other systems: see above.
        }
        return exact;
    }

    /** Whether a value is unchanged ASCII: one with question marks may be the JVM's replacement. */
    private static boolean isAscii(String value) {
        return StandardCharsets.US_ASCII.newEncoder().canEncode(value) && value.indexOf('?') < 0;
    }
}
