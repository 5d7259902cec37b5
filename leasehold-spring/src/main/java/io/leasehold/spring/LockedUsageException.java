package io.leasehold.spring;

import java.util.List;
import java.util.stream.Collectors;

/** Thrown if {@link Locked} is used in a way that cannot work; the application does not start. */
public final class LockedUsageException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String cure;

    LockedUsageException(String problem, String cure) {
        super(problem + ". " + cure + ".");
        this.cure = cure;
    }

    LockedUsageException(LintFinding finding) {
        this(finding.subject() + " " + finding.problem(), finding.cure());
    }

    LockedUsageException(List<LintFinding> findings) {
        super(findings.stream().map(LintFinding::text).collect(Collectors.joining("\n")));
        this.cure = "Correct each line above, or set the lint to WARN";
    }

    /** The cure, as a sentence without its full stop. */
    public String cure() {
        return cure;
    }
}
