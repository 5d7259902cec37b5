package io.leasehold.micrometer;

import io.leasehold.LockName;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Chooses the value of the tag {@code resource}: a template or an allowed name, and never more values than the cap.
 *
 * <p>Safe for all threads; once chosen, a value does not change.
 */
final class ResourceTag {

    /** The value of all templates without their own value. */
    static final String OTHER = "_other";
    /** The value of names without a template, unless allowed individually: their number is unbounded. */
    static final String EXACT = "_exact";

    private static final Logger LOG = LoggerFactory.getLogger(LockMetrics.class);

    private final Set<String> allowed;
    private final boolean onlyAllowed;
    private final int most;
    private final Set<String> admitted = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean told = new AtomicBoolean();

    ResourceTag(Set<String> allowed, boolean onlyAllowed, int most) {
        this.allowed = allowed;
        this.onlyAllowed = onlyAllowed;
        this.most = most;
    }

    String of(LockName name) {
        return of(name.template(), name.text());
    }

    String of(@Nullable String template, String text) {
        String candidate = template != null ? template : allowed.contains(text) ? text : EXACT;
        if (candidate.equals(EXACT) || allowed.contains(candidate) || admitted.contains(candidate)) {
            return candidate;
        }
        if (onlyAllowed) {
            warnOnce(candidate, "is not among the " + allowed.size() + " allowed");
            return OTHER;
        }
        if (!admit(candidate)) {
            warnOnce(candidate, "came after " + most + " others, the maximum number of distinct values");
            return OTHER;
        }
        return candidate;
    }

    private synchronized boolean admit(String candidate) {
        return admitted.contains(candidate) || (admitted.size() < most && admitted.add(candidate));
    }

    private void warnOnce(String candidate, String why) {
        if (!told.getAndSet(true)) {
            LOG.atWarn()
                    .addKeyValue("resource", candidate)
                    .log(
                            "lock template \"{}\" {}: it and all further ones are measured together as resource=\"{}\"."
                                    + " Use fewer templates, list those that matter with LockMetrics.Builder.resources, or"
                                    + " raise mostResources. This warning is logged once.",
                            candidate,
                            why,
                            OTHER);
        }
    }
}
