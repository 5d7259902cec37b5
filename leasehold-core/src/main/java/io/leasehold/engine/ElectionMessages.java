package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.Term;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The log messages about elections. */
final class ElectionMessages {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private ElectionMessages() {}

    static void cannotStand(LockName election, boolean forGood, Throwable error) {
        (forGood ? LOG.atError() : LOG.atWarn())
                .addKeyValue("election", election)
                .setCause(error)
                .log(
                        forGood
                                ? "a candidate of election \"{}\" no longer stands: the store never accepts it"
                                : "a candidate of election \"{}\" cannot stand at the moment; it keeps retrying",
                        election);
    }

    static void leaderFailed(Term term, Throwable error) {
        LOG.atError()
                .addKeyValue("election", term.election())
                .addKeyValue("fencingToken", term.fencingToken())
                .setCause(error)
                .log(
                        "the leader of election \"{}\" has failed; it releases term {}, pauses and stands again",
                        term.election(),
                        term.fencingToken());
    }

    static void callbackGoesOn(Term term) {
        LOG.atWarn()
                .addKeyValue("election", term.election())
                .addKeyValue("fencingToken", term.fencingToken())
                .log(
                        "term {} of election \"{}\" has ended, and its callback has not returned; the candidate does not"
                                + " stand again before that",
                        term.fencingToken(),
                        term.election());
    }

    static void leaderUnseen(LockName election, Throwable error) {
        LOG.atWarn()
                .addKeyValue("election", election)
                .setCause(error)
                .log("the leader of election \"{}\" is unknown at the moment; the client keeps asking", election);
    }
}
