package io.leasehold.cli.process;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The mark that identifies all processes of one run: a part of the environment variable {@value #VARIABLE}, which processes inherit.
 *
 * <p>A nested run appends its mark to the outer one's, so that the outer run still recognises its processes. The mark is not
 * secret: it proves nothing to a store.
 */
public final class RunMark {

    /** The variable. */
    public static final String VARIABLE = "LEASEHOLD_RUN";

    private static final int BYTES = 12;

    private final String text;

    private RunMark(String text) {
        this.text = text;
    }

    /** Creates a new mark. */
    public static RunMark create() {
        byte[] random = new byte[BYTES];
        new SecureRandom().nextBytes(random);
        return new RunMark("run-" + HexFormat.of().formatHex(random));
    }

    /** Puts the mark into the changes to a command's environment, after the outer run's mark, if not null. */
    void addTo(@Nullable String outer, Map<String, @Nullable String> changes) {
        changes.put(VARIABLE, outer == null ? text : outer + ":" + text);
    }

    String text() {
        return text;
    }

    byte[] bytes() {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
