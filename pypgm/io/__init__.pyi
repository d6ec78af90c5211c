from pypgm.io.networks import read_network as read_network
from pypgm.io.networks import write_network as write_network
from pypgm.io.uai import UaiModel as UaiModel
from pypgm.io.uai import read_uai as read_uai
from pypgm.io.uai import read_uai_evidence as read_uai_evidence
from pypgm.io.uai import read_uai_model as read_uai_model
from pypgm.io.uai import write_uai as write_uai
from pypgm.io.uai import write_uai_evidence as write_uai_evidence
