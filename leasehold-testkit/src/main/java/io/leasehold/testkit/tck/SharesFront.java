package io.leasehold.testkit.tck;

/** As {@link SharesStore}, for the parts of {@link FaultsTck}. */
public interface SharesFront extends SharesStore {

    @Override
    FaultyFixture fixture();
}
