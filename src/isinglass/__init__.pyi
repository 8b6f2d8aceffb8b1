# The public names of isinglass: what is imported here is what `isinglass.NAME` finds.

from isinglass import attacks as attacks
from isinglass import datasets as datasets
from isinglass import errors as errors
from isinglass import mechanisms as mechanisms
from isinglass import metrics as metrics
from isinglass import theory as theory
from isinglass.attack.base import Attack as Attack
from isinglass.auditing.entry import audit as audit
from isinglass.auditing.policy import Policy as Policy
from isinglass.auditing.report.report import Report as Report
from isinglass.auditing.tuning.tune import tune as tune
from isinglass.curate.curator import Curator as Curator
from isinglass.curate.guarantee import Guarantee as Guarantee
from isinglass.curate.ledger.ledger import Ledger as Ledger
from isinglass.curate.planning.choose import choose_beta_r as choose_beta_r
from isinglass.curate.planning.plan import plan as plan
from isinglass.curate.planning.private_choice import choose_r_privately as choose_r_privately
from isinglass.curate.query import Answer as Answer
from isinglass.curate.questions.base import Question as Question
from isinglass.curate.space import Space as Space
from isinglass.detect.autoencoder import Autoencoder as Autoencoder
from isinglass.detect.base import Detector as Detector
from isinglass.detect.distance import DistanceOutliers as DistanceOutliers
from isinglass.detect.private.detector import PrivateDetector as PrivateDetector
from isinglass.detect.private.load import load_model as load_model
from isinglass.detect.private.verification.verify import verify_privacy as verify_privacy
from isinglass.detect.radius import RadiusOutliers as RadiusOutliers
from isinglass.errors import PrivacyWarning as PrivacyWarning
from isinglass.perturb.adaptive import AdaptiveNoise as AdaptiveNoise
from isinglass.perturb.base import Perturbation as Perturbation
from isinglass.perturb.condensation import Condensation as Condensation
from isinglass.perturb.distortion import Distortion as Distortion
from isinglass.perturb.geometric import GeometricPerturbation as GeometricPerturbation
from isinglass.perturb.multiparty import MultipartyPerturbation as MultipartyPerturbation
from isinglass.perturb.noise import AdditiveNoise as AdditiveNoise
from isinglass.perturb.noise import MultiplicativeNoise as MultiplicativeNoise
from isinglass.perturb.projection import RandomProjection as RandomProjection
from isinglass.perturb.public_matrix import PublicMatrix as PublicMatrix
from isinglass.perturb.public_matrix import public_matrix as public_matrix
from isinglass.perturb.registry import load_key as load_key
from isinglass.perturb.rotation import Rotation as Rotation
from isinglass.promise import Promise as Promise
from isinglass.publish import write_release as write_release
from isinglass.release import Release as Release

__version__: str
